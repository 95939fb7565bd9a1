#include <filesystem>
#include <fstream>
#include <iostream>

int main()
{
    auto path = std::filesystem::temp_directory_path() / "said";
    std::ofstream(path) << "42";
    std::string said;
    std::ifstream(path) >> said;
    std::cout << "C++ says " << said << std::endl;
}
